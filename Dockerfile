# One machine, as a container: docs/operate-one-machine.md. Node.js runs the TypeScript as it is, so only the console is built.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: they would bring a second Node.js.
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# On this address, Folder and private addresses are off until FOLDER_ROOTS and PRIVATE_ADDRESSES allow them.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8010 WORKSPACE_HOME=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY functions ./functions
COPY infra/build ./infra/build
COPY infra/local ./infra/local
COPY lib ./lib
# The console, which the service builds itself only where it may write beside its program.
RUN node infra/build/console.ts
RUN mkdir --mode=700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8010
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT}/_health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "infra/local/bin/workspace.js", "start"]
