"""The server under other tools' calls: UDPipe's REST service and Arborator's parser server.

Each module reads the requests of one tool and writes the responses that it expects; `routes` joins them to
the server.
"""
