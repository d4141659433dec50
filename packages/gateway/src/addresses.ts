/** The gateway's addresses for people and devices. They come from settings and interfaces, never from a request. */
import type { IncomingMessage } from "node:http";
import os from "node:os";
import { type OtaProblem, readBoardUrl } from "@tendon/protocol";

export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** An address without the prefix of an IPv4 address on an IPv6 socket. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:/i, "");
}

function isEveryInterface(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** The IPv4 addresses that a board could reach, with their network interfaces. Boards get the first one. */
export function lanAddresses(): { readonly address: string; readonly network: string }[] {
  return Object.entries(os.networkInterfaces()).flatMap(([network, addresses]) =>
    (addresses ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => ({ address, network })),
  );
}

function lanAddress(): string | undefined {
  return lanAddresses()[0]?.address;
}

/** Why boards on the network cannot use the OTA address; `undefined` if no problem is known. */
export function otaProblem({
  ota,
  publicUrl,
  host,
}: {
  readonly ota: string;
  readonly publicUrl: string | undefined;
  /** The listening address. */
  readonly host: string;
}): OtaProblem | undefined {
  const read = readBoardUrl(ota);
  if (read.kind === "misread") return "unreadable";
  if (!isLoopbackHost(read.host)) return undefined;
  return publicUrl === undefined && isLoopbackHost(host) ? "this_machine" : "public_url";
}

/**
 * Why a device cannot upload to this address; `undefined` if no problem is known. A board on another machine cannot reach
 * a loopback address. It can be connected all the same, over an MQTT broker that other machines reach.
 */
export function uploadProblem(
  url: string,
  device: { readonly kind: string; readonly transport: string },
  { deviceMqtt }: Pick<Addresses, "deviceMqtt">,
): string | undefined {
  if (device.kind !== "esp32") return undefined;
  const read = readBoardUrl(url);
  if (read.kind === "misread") return `boards cannot read its address: ${read.why}`;
  const [broker = ""] = deviceMqtt.split(":");
  if (device.transport !== "mqtt" || !isLoopbackHost(read.host) || isLoopbackHost(broker)) return undefined;
  return `only this machine reaches ${read.host}, while the MQTT broker is ${broker}`;
}

/** The client's address. With a proxy, only the last entry of X-Forwarded-For, which the proxy added, is trusted. */
export function peerAddress(request: IncomingMessage, trustProxy: boolean): string | undefined {
  const forwarded = request.headers["x-forwarded-for"];
  const list = Array.isArray(forwarded) ? forwarded.join(",") : forwarded;
  const last = trustProxy ? list?.split(",").at(-1)?.trim() : undefined;
  return last === undefined || last === "" ? request.socket.remoteAddress : last;
}

export interface Addresses {
  /** For programs on this machine. */
  readonly local: string;
  /** For people and devices on other machines, if the gateway is reachable. */
  readonly public: string;
  /** The address from which boards get their settings. */
  readonly ota: string;
  /** The WebSocket address for devices. */
  readonly deviceWebSocket: string;
  /** MQTT for programs on this machine; with TLS if the broker has no port without it. */
  readonly mqtt: string;
  /** The same with TLS; `undefined` without a certificate, or with an external broker. */
  readonly mqtts: string | undefined;
  /** host:port of MQTT for devices. */
  readonly deviceMqtt: string;
  /** The host for the audio of devices. */
  readonly audioHost: string;
}

export interface AddressSettings {
  readonly host: string;
  readonly httpPort: number;
  /** Whether the port serves TLS. */
  readonly tls: boolean;
  readonly publicUrl: string | undefined;
  /** The host of the external broker, if there is one. */
  readonly mqttHost: string | undefined;
  /** `undefined` if the broker has no port without TLS. */
  readonly mqttPort: number | undefined;
  readonly mqttTlsPort?: number | undefined;
  readonly publicEndpoint: string | undefined;
}

export function addressesOf(settings: AddressSettings): Addresses {
  const { host, httpPort, tls, publicUrl, mqttHost, mqttPort, mqttTlsPort, publicEndpoint } = settings;
  const here = bracketed(isEveryInterface(host) ? "127.0.0.1" : host);
  const reachable = isEveryInterface(host) ? (lanAddress() ?? "127.0.0.1") : here;
  const scheme = tls ? "https" : "http";
  const open = (publicUrl ?? `${scheme}://${reachable}:${httpPort}`).replace(/\/+$/, "");
  const publicHost = publicUrl === undefined ? reachable : new URL(publicUrl).hostname;
  const [endpointHost = mqttHost ?? publicHost, endpointPort] = publicEndpoint?.split(":") ?? [];
  return {
    local: `${scheme}://${here}:${httpPort}`,
    public: open,
    ota: `${open}/xiaozhi/ota/`,
    deviceWebSocket: `${open.replace(/^http/, "ws")}/xiaozhi/v1/`,
    mqtt:
      mqttPort === undefined ? `mqtts://${here}:${mqttTlsPort}` : `mqtt://${mqttHost ?? here}:${mqttPort}`,
    mqtts: mqttTlsPort === undefined ? undefined : `mqtts://${here}:${mqttTlsPort}`,
    deviceMqtt: `${endpointHost}:${endpointPort ?? mqttPort ?? mqttTlsPort}`,
    audioHost: publicHost,
  };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
