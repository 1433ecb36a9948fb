"""What breaks the network: proxies of a Toxiproxy server, each in front of one address."""
