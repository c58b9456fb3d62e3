"""Comparable pairs: measured, kept, summed up."""
