"""How workers learn that there is work: tickets through this process, RabbitMQ or Redis Streams.

`direct` needs nobody. The two brokers share `carried`, which keeps the connection and survives without one; each of
them is a `wire.Wire`, so that a further broker is one file.
"""
