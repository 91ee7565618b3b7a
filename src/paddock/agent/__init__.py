"""What an agent may import: no dependencies, and nothing of paddock."""
