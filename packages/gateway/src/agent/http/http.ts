/**
 * The HTTP server that REST, MCP, the console and boards share: its guards, authentication, problem documents, TLS
 * certificate, health and metrics, and the forwarding of requests that reached the wrong node.
 */
export { HttpAuthentication } from "./authentication.ts";
export { type Certificate, openCertificate, readUsablePair } from "./certificate.ts";
export { cookieName, writeCookie } from "./cookie.ts";
export { failures } from "./description.ts";
export { docsRoutes } from "./docs.ts";
export { forwardMisrouted } from "./forwarding.ts";
export { listen, portOf, serveCertificate } from "./listening.ts";
export { type MemoryFile, readFolder, sendFile } from "./memory-files.ts";
export { operationRoutes } from "./operations.ts";
export { asTendonError } from "./problem.ts";
export { unreadyParts } from "./readiness.ts";
export { createHttp, type Http } from "./server.ts";
export { type SessionStorage, Sessions, sessionMaxAgeMs } from "./sessions.ts";
