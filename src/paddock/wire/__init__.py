"""The JSON shapes that leave the process, and their versions. Does not send them."""
