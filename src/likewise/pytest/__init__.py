"""The pytest plugin, which pytest loads by itself where likewise is installed."""
