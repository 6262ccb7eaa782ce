"""What lies here is material, not tests."""

collect_ignore_glob = ["*"]
