# docker build -t smfh . && docker run -p 8501:8501 smfh
# Benchmarks and kept runs: add -v FOLDER:/data -e SMFH_DATA=/data -v smfh-cache:/home/smfh/cache
FROM python:3.13-slim

RUN useradd --create-home --uid 10001 smfh
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src

USER smfh
WORKDIR /home/smfh
RUN mkdir cache
ENV PYTHONUNBUFFERED=1 NUMBA_CACHE_DIR=/home/smfh/numba SMFH_CACHE=/home/smfh/cache

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8501/health', timeout=4)"]
# browsers may open it by these names only; give the public name behind a proxy, or "*" for any
CMD ["smfh", "app", "--address", "0.0.0.0", "--headless", "--host", "localhost", "127.0.0.1"]
