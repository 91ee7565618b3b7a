// Ten megabytes at once and no exit of its own: Node buffers what the pipe does not take.
process.stdout.write("x".repeat(10 * 1024 * 1024));
