"""The commands of `ktms-node`, one file each: its options, and what it does."""
