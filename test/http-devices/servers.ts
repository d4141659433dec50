/** Simulated MCP servers over HTTP, each as a device of a gateway. */
import { HttpServer, type HttpServerOptions } from "@tendon/simulator";
import { onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { openSite, type Site, type SiteOptions } from "../site.ts";

export async function openServer(options: HttpServerOptions = {}): Promise<HttpServer> {
  const server = await HttpServer.start(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A gateway with one server of its configuration, with the alias `lamp`. */
export async function siteWith(
  server: { readonly url: string },
  options: SiteOptions = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const http = [{ alias: "lamp", url: server.url, headers: { ...headers } }];
  const { config, ...rest } = options;
  return await openSite({ ...rest, config: { ...config, devices: { ...config?.devices, http } } });
}

export async function online(site: Site, alias = "lamp", state = true): Promise<void> {
  const is = async () => (await site.device(alias))["online"] === state;
  await until(is, `${alias} ${state ? "online" : "offline"}`);
}

export function textOf(body: { readonly [key: string]: unknown }): string {
  const { content } = body["result"] as { readonly content: readonly { readonly text: string }[] };
  return content.map(({ text }) => text).join();
}
