"""Backplane's plugin for NVIDIA's cards: its manifest and library lie in this folder, where backplane finds them."""
