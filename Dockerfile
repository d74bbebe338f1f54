# iii-sandbox as a container: built with nothing but Debian packages, installed as the Debian package. See compose.yaml and docs/backends.md.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY dev ./
COPY tools/dev.py tools/devargs.py tools/
RUN ./dev setup build deb
COPY . .
# Times inside the package are of no interest here.
RUN ./dev build iii && SOURCE_DATE_EPOCH=0 python3 tools/dist.py --only deb --out /out

FROM ${BASE}
COPY --from=build /out/*.deb /tmp/
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates /tmp/*.deb \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/*
ENTRYPOINT ["iii", "serve"]
