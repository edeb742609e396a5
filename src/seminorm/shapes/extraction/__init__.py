"""Level sets as triangles."""
