import swaggerUi from "@fastify/swagger-ui";
import type { Http } from "./http.ts";

const contentPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** The REST description as a page to read and try; it loads nothing from elsewhere. */
export async function docsRoutes(http: Http): Promise<void> {
  await http.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: true,
    // The plugin's own policy names outside hosts and would turn a LAN address into https.
    transformStaticCSP: () => contentPolicy,
    // Without the bar of another project's name above the page.
    uiConfig: { layout: "BaseLayout", docExpansion: "list", displayRequestDuration: true },
    theme: { title: "Tendon REST" },
  });
}
