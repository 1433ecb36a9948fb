"""The upstream leg: our own lean HTTP/1.1 client on asyncio and httptools."""
