# Flame in a container: a server over HTTP, or with the target "hub" the place where machines meet.
#
#   docker build -t flame . && docker run -v flame:/data -v "$PWD:/project:ro" -p 7070:7070 flame
#   docker build -t flame-hub --target hub . && docker run -v hub:/data -p 4222:4222 flame-hub
FROM golang:1.26 AS build
COPY . /src
WORKDIR /src
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o / . ./flame-hub && \
    CGO_ENABLED=0 GOBIN=/ go install github.com/nats-io/nats-server/v2@v2.15.2 && \
    mkdir -p /empty/data /empty/tmp && chmod 700 /empty/data && chmod 1777 /empty/tmp && chown 65532:65532 /empty/data

FROM scratch AS base
COPY --from=build /empty/ /
COPY --from=build /flame /flame-hub /
USER 65532:65532
ENV HOME=/data FLAME_DIR=/data FLAME_PROJECT_DIR=/project
VOLUME /data
ENTRYPOINT ["/flame"]

# nats-server ends with `flame hub` and the other way round, so a restart policy is enough.
FROM base AS hub
COPY --from=build /nats-server /nats-server
ENV PATH=/
EXPOSE 4222
CMD ["hub", "--data", "/data", "--listen", "0.0.0.0:4222"]

FROM base AS serve
WORKDIR /project
EXPOSE 7070
HEALTHCHECK --interval=30s --timeout=5s CMD ["/flame", "serve", "--http", "127.0.0.1:7070", "--check"]
CMD ["serve", "--http", "0.0.0.0:7070"]
