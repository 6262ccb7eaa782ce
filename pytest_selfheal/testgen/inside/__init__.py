"""What runs in the sandboxed child: the tests are watched, then functions are explored in forked processes."""
