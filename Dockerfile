# The image of `prompt-engine serve`: docs/containers.md says how it is started.
FROM python:3.13.14-slim-trixie AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY core ./core
COPY sql ./sql
COPY prompts ./prompts
RUN python -m venv /opt/prompt-engine \
    && /opt/prompt-engine/bin/python -m pip install --no-cache-dir --disable-pip-version-check '.[cli,mysql,admin,mcp,llm,tokens,metrics]'

FROM python:3.13.14-slim-trixie
RUN groupadd --gid 10001 prompt-engine \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin prompt-engine \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/prompt-engine /opt/prompt-engine
ENV PATH="/opt/prompt-engine/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ADMIN_HOST=0.0.0.0
# By number, so that a supervisor can tell that it is not root.
USER 10001:10001
# The SQLite file lies here unless DATABASE_URL names another database; the rest of the image is never written.
WORKDIR /data
EXPOSE 8765
HEALTHCHECK --interval=15s --timeout=15s --start-period=60s --retries=3 CMD ["python", "-c", "import os, urllib.request as web; web.urlopen(f'http://127.0.0.1:{os.environ.get(\"ADMIN_PORT\", 8765)}/health/ready', timeout=10)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["prompt-engine"]
CMD ["serve"]
