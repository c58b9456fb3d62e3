"""What all networks share: inputs, training, device and seeds, and saving in folders."""
