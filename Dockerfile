# The service in an image: docker build --tag montecarlo .
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /source
COPY pyproject.toml README.md ./
COPY service service
COPY migrations migrations
COPY openapi openapi
RUN python -m venv /opt/montecarlo && /opt/montecarlo/bin/pip install --no-cache-dir '.[postgresql,redis]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /data montecarlo && install --directory --owner=10001 /data
COPY --from=build /opt/montecarlo /opt/montecarlo
ENV PATH=/opt/montecarlo/bin:$PATH PYTHONDONTWRITEBYTECODE=1 MONTECARLO_HOST=0.0.0.0
# Written to are only /data, by SQLite, and /tmp: the rest of the file system can be read-only.
WORKDIR /data
VOLUME /data
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["montecarlo", "serve"]
