"""Language models behind one small role."""
