"""Files: written whole or not at all, tensors without pickle, paths that may not be there."""
