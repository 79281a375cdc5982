# The server: docker build -t arbora . && docker run --rm -p 127.0.0.1:8080:8080 arbora
# Options of `arbora serve` go after the name of the image. Mount a model and name it: -v "$PWD/my.arbora:/my.arbora:ro" arbora -m /my.arbora
FROM python:3.13-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels "/source[serve]"

FROM python:3.13-slim-bookworm
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels "arbora-nlp[serve]"
RUN useradd --system --no-create-home arbora
USER arbora
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/api/info', timeout=4)"]
# SIGTERM ends requests in progress and then the server.
ENTRYPOINT ["arbora", "serve", "--host", "0.0.0.0", "--port", "8080"]
