"""What an audit shows besides its measures: single pairs, groups, directions, distributions."""
