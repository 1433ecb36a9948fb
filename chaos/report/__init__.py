"""What experiments found, for people, machines and documents."""
