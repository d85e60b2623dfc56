"""Exports of trained policies, their model cards, and the Hugging Face Hub."""
