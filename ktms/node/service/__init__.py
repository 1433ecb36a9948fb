"""Programs in the background of this user, without rights: launchd, systemd; and keeping the machine awake."""
