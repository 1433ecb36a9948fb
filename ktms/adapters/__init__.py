"""One folder per technology; each implements ports and knows no other adapter."""
