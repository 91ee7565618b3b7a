"""What tests share: factories, waiting for a condition, leak checks, pretend agents."""
