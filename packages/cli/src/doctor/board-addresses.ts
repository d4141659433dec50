import dns from "node:dns/promises";
import net from "node:net";
import {
  type Addresses,
  type Config,
  isLoopbackHost,
  lanAddresses,
  otaProblem,
  withoutSecrets,
} from "@tendon/gateway";
import { boardTlsPort, readBoardEndpoint, readBoardUrl } from "@tendon/protocol";
import { type Finding, failed, fine, warning } from "./finding.ts";

const lookupMs = 3_000;

/** Checks the addresses that boards are given, as the firmware parses them [OTA-9]. */
export async function checkBoardAddresses(config: Config, addresses: Addresses): Promise<Finding[]> {
  const read = readBoardUrl(addresses.ota);
  const endpoint = checkEndpoint(config, addresses.deviceMqtt);
  if (read.kind === "misread") {
    return [
      ...endpoint,
      failed("OTA address", {
        message: `boards cannot use ${String(withoutSecrets(addresses.ota))}: ${read.why}`,
        why: "boards get all their other settings from this address",
        todo: "set http.publicUrl to http(s)://HOST:PORT with a plain name or an IPv4 address",
      }),
    ];
  }
  return [
    fine("OTA address", addresses.ota),
    ...checkReach(config, addresses.ota, read.host),
    ...(await checkName(read.host)),
    ...checkPublicPort(config, read.port),
    ...endpoint,
  ];
}

function checkReach({ http }: Config, ota: string, host: string): Finding[] {
  const check = "device address";
  const allInterfaces = http.host === "0.0.0.0" || http.host === "::";
  const problem = otaProblem({ ota, host: http.host, publicUrl: http.publicUrl });
  if (problem !== undefined) {
    const trouble = {
      message: `only this machine can reach ${host}`,
      why: "a real board would connect to itself; virtual devices on this machine work",
      todo:
        problem === "public_url"
          ? "set http.publicUrl to this machine's address in the network of the boards"
          : "listen on the network with --host 0.0.0.0",
    };
    // With a public URL, a loopback address is a mistake. Without one, the gateway may be for this machine only.
    return [problem === "public_url" ? failed(check, trouble) : warning(check, trouble)];
  }
  if (isLoopbackHost(http.host)) {
    return [
      warning(check, {
        message: `the gateway listens on ${http.host}, but boards are given ${host}`,
        why: "boards can connect only if a proxy on this machine forwards them",
        todo: "without a proxy, listen on the network with --host 0.0.0.0",
      }),
    ];
  }
  const others = lanAddresses();
  if (allInterfaces && http.publicUrl === undefined && others.length > 1) {
    return [
      warning(check, {
        message: `boards are given ${host}, the first of ${others.map(({ address, network }) => `${address} (${network})`).join(", ")}`,
        why: "boards in another of these networks cannot reach it; some of them may belong to containers or VPNs",
        todo: "set http.publicUrl to the right address",
      }),
    ];
  }
  return [];
}

async function checkName(host: string): Promise<Finding[]> {
  if (net.isIP(host) !== 0 || isLoopbackHost(host)) return [];
  const check = "device name";
  if (host.endsWith(".local")) {
    return [
      warning(check, {
        message: `${host} is an mDNS name`,
        why: "not every board resolves mDNS names",
        todo: "use an IPv4 address that is reserved in the router",
      }),
    ];
  }
  const found = await Promise.race([
    dns.lookup(host, { all: true }).catch(() => []),
    new Promise<[]>((resolve) => {
      setTimeout(() => resolve([]), lookupMs).unref();
    }),
  ]);
  if (found.length === 0) {
    return [
      failed(check, {
        message: `the name ${host} does not resolve on this machine`,
        why: "a board that cannot resolve the name cannot connect",
        todo: "add the name to DNS, or use an IPv4 address in http.publicUrl",
      }),
    ];
  }
  if (found.some(({ family, address }) => family === 4 && !isLoopbackHost(address))) return [];
  return [
    warning(check, {
      message: `the name ${host} resolves to ${found.map(({ address }) => address).join(", ")} on this machine`,
      why: "boards need an IPv4 address other than loopback",
      todo: "check the name in DNS and in /etc/hosts",
    }),
  ];
}

/** A public URL without a port means port 80 or 443. */
function checkPublicPort({ http, tls }: Config, port: number): Finding[] {
  if (http.publicUrl === undefined || http.port === 0 || port === http.port) return [];
  const secure = http.publicUrl.startsWith("https:");
  const proxied = secure !== (tls.cert !== undefined) || http.trustProxy;
  const trouble = {
    message: `boards connect to port ${port}, but the gateway listens on ${http.port}`,
    why: "this works only if a proxy or a router forwards the port",
    todo: `without one, add the port: http.publicUrl: ${http.publicUrl.replace(/\/+$/, "")}:${http.port}`,
  };
  if (!proxied) return [warning("public port", trouble)];
  if (http.trustProxy) return [];
  return [
    warning("proxy", {
      message: "clients seem to connect through a proxy, but http.trustProxy is off",
      why: "all clients then count as one address and share its rate limits",
      todo: "set http.trustProxy to true if the proxy sets X-Forwarded-For itself",
    }),
  ];
}

/** [OTA-9] A board uses TLS on port 8883 and plain MQTT on every other port. */
function checkEndpoint({ mqtt, tls }: Config, endpoint: string): Finding[] {
  const check = "MQTT address";
  const read = readBoardEndpoint(endpoint);
  if (read.kind === "misread") {
    return [
      failed(check, {
        message: `boards cannot use ${endpoint}: ${read.why}`,
        why: "boards are given this address for MQTT",
        todo: "set mqtt.publicEndpoint to HOST:PORT with a plain name or an IPv4 address",
      }),
    ];
  }
  const served = speaksTls({ mqtt, tls }, read.port);
  const todo =
    mqtt.broker === undefined
      ? "set tls.cert and tls.key and keep mqtt.tlsPort at 8883, or give boards the plain port"
      : "enable TLS on port 8883 of the broker, or set mqtt.publicEndpoint to its plain port";
  if (read.secure && served === false) {
    const message = `boards use TLS with ${endpoint}, but nothing there serves TLS`;
    return [failed(check, { message, why: "every board uses TLS on port 8883", todo })];
  }
  if (!read.secure && served === true) {
    const message = `boards use plain MQTT with ${endpoint}, which expects TLS`;
    return [failed(check, { message, why: "boards use TLS only on port 8883", todo })];
  }
  if (read.secure && served === undefined) {
    return [
      warning(check, {
        message: `boards use TLS with ${endpoint}, which this gateway does not serve itself`,
        why: "this works only if a proxy in front of the gateway serves TLS",
        todo,
      }),
    ];
  }
  if (mqtt.tlsPort !== undefined && mqtt.tlsPort !== boardTlsPort && mqtt.tlsPort !== 0) {
    return [
      warning(check, {
        message: `mqtt.tlsPort is ${mqtt.tlsPort}`,
        why: "boards use TLS only on port 8883; apps can use this port",
        todo: "remove mqtt.tlsPort, unless a router forwards port 8883 to it",
      }),
    ];
  }
  return [fine(check, `${endpoint}, ${read.secure ? "with TLS" : "without TLS"}`)];
}

/** Whether the configuration serves TLS on this port; `undefined` if unknown, because a router may change ports. */
function speaksTls({ mqtt, tls }: Pick<Config, "mqtt" | "tls">, port: number): boolean | undefined {
  if (mqtt.broker !== undefined) {
    const { protocol, port: written } = new URL(mqtt.broker);
    const brokerPort = Number(written || (protocol === "mqtts:" ? boardTlsPort : 1883));
    return port === brokerPort ? protocol === "mqtts:" : undefined;
  }
  if (port === mqtt.port) return false;
  if (tls.cert === undefined) return undefined;
  return port === (mqtt.tlsPort ?? boardTlsPort) ? true : undefined;
}
