"""The paper's adversarial generator."""
