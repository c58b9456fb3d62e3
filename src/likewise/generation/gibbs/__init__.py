"""The Gibbs generator."""
