"""What is asked: people, scores, task and rule."""
