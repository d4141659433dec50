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

/** The addresses boards would be given, as boards read them [OTA-9]. */
export async function checkBoardAddresses(config: Config, addresses: Addresses): Promise<Finding[]> {
  const read = readBoardUrl(addresses.ota);
  const endpoint = checkEndpoint(config, addresses.deviceMqtt);
  if (read.kind === "misread") {
    return [
      ...endpoint,
      failed("OTA address", {
        message: `${String(withoutSecrets(addresses.ota))} cannot be used by a board: ${read.why}`,
        why: "it is the one thing a board is told, and everything else begins there",
        todo: "set http.publicUrl to http(s)://HOST:PORT with a plain name or an IPv4 address",
      }),
    ];
  }
  return [
    fine("OTA address", addresses.ota),
    ...checkReach(config, addresses.ota, read.host),
    ...(await checkName(read.host)),
    ...checkFrontDoor(config, read.port),
    ...endpoint,
  ];
}

function checkReach({ http }: Config, ota: string, host: string): Finding[] {
  const check = "device address";
  const everywhere = http.host === "0.0.0.0" || http.host === "::";
  const problem = otaProblem({ ota, host: http.host, publicUrl: http.publicUrl });
  if (problem !== undefined) {
    const trouble = {
      message: `${host} is this machine alone`,
      why: "real boards would look for the gateway on themselves; virtual ones of this machine reach it",
      todo:
        problem === "public_url"
          ? "set http.publicUrl to this machine's address in the boards' network"
          : "listen on the network with --host 0.0.0.0",
    };
    // Whoever lets the network in means boards; an address of one's own is a mistake then.
    return [problem === "public_url" ? failed(check, trouble) : warning(check, trouble)];
  }
  if (isLoopbackHost(http.host)) {
    return [
      warning(check, {
        message: `the gateway listens on ${http.host}, and boards are sent to ${host}`,
        why: "they come through only if a proxy on this machine passes them on",
        todo: "if there is none, listen on the network with --host 0.0.0.0",
      }),
    ];
  }
  const others = lanAddresses();
  if (everywhere && http.publicUrl === undefined && others.length > 1) {
    return [
      warning(check, {
        message: `boards are sent to ${host}, the first of ${others.map(({ address, network }) => `${address} (${network})`).join(", ")}`,
        why: "in another of these networks they would not find it; containers and VPNs bring networks of their own",
        todo: "name the right one in http.publicUrl",
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
        message: `${host} is a name of mDNS`,
        why: "not every board looks names up that way",
        todo: "an IPv4 address, fixed in the router, is found by all",
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
        message: `the name ${host} leads nowhere, seen from here`,
        why: "a board that cannot look it up finds nothing",
        todo: "set the name up in DNS, or use an IPv4 address in http.publicUrl",
      }),
    ];
  }
  if (found.some(({ family, address }) => family === 4 && !isLoopbackHost(address))) return [];
  return [
    warning(check, {
      message: `the name ${host} leads to ${found.map(({ address }) => address).join(", ")}, seen from here`,
      why: "boards need an IPv4 address that is not their own",
      todo: "look at the name in DNS and in /etc/hosts",
    }),
  ];
}

/** A public address that names no port means 80 or 443. */
function checkFrontDoor({ http, tls }: Config, port: number): Finding[] {
  if (http.publicUrl === undefined || http.port === 0 || port === http.port) return [];
  const secure = http.publicUrl.startsWith("https:");
  const proxied = secure !== (tls.cert !== undefined) || http.trustProxy;
  const trouble = {
    message: `boards ask port ${port}, and the gateway listens on ${http.port}`,
    why: "that is right only where a proxy or a router passes one to the other",
    todo: `otherwise name the port: http.publicUrl: ${http.publicUrl.replace(/\/+$/, "")}:${http.port}`,
  };
  if (!proxied) return [warning("public port", trouble)];
  if (http.trustProxy) return [];
  return [
    warning("proxy", {
      message: "boards and people seem to come through a proxy, and http.trustProxy is off",
      why: "all of them count as one address then, and share its limits",
      todo: "set http.trustProxy: true, if the proxy sets X-Forwarded-For itself",
    }),
  ];
}

/** [OTA-9] A board speaks TLS on 8883 and plain MQTT everywhere else, whatever listens there. */
function checkEndpoint({ mqtt, tls }: Config, endpoint: string): Finding[] {
  const check = "MQTT address";
  const read = readBoardEndpoint(endpoint);
  if (read.kind === "misread") {
    return [
      failed(check, {
        message: `${endpoint} cannot be used by a board: ${read.why}`,
        why: "boards are told to connect there",
        todo: "set mqtt.publicEndpoint to HOST:PORT with a plain name or an IPv4 address",
      }),
    ];
  }
  const served = speaksTls({ mqtt, tls }, read.port);
  const todo =
    mqtt.broker === undefined
      ? "set tls.cert and tls.key and leave mqtt.tlsPort at 8883, or give boards the plain port"
      : "let the broker speak TLS on 8883, or name its plain port in mqtt.publicEndpoint";
  if (read.secure && served === false) {
    const message = `boards speak TLS to ${endpoint}, and nothing there does`;
    return [failed(check, { message, why: "port 8883 is TLS to every board", todo })];
  }
  if (!read.secure && served === true) {
    const message = `boards speak plain MQTT to ${endpoint}, where TLS is expected`;
    return [failed(check, { message, why: "boards do TLS on port 8883 and nowhere else", todo })];
  }
  if (read.secure && served === undefined) {
    return [
      warning(check, {
        message: `boards speak TLS to ${endpoint}, which this gateway does not serve itself`,
        why: "that is right only where something in front of it does",
        todo,
      }),
    ];
  }
  if (mqtt.tlsPort !== undefined && mqtt.tlsPort !== boardTlsPort && mqtt.tlsPort !== 0) {
    return [
      warning(check, {
        message: `mqtt.tlsPort is ${mqtt.tlsPort}`,
        why: "boards do TLS on port 8883 and nowhere else; apps may use this one",
        todo: "leave mqtt.tlsPort out, unless a router passes 8883 on to it",
      }),
    ];
  }
  return [fine(check, `${endpoint}, ${read.secure ? "with TLS" : "without TLS"}`)];
}

/** Whether TLS is spoken on this port, as far as the settings say; a router may change ports on the way. */
function speaksTls({ mqtt, tls }: Pick<Config, "mqtt" | "tls">, port: number): boolean | undefined {
  if (mqtt.broker !== undefined) {
    const { protocol, port: written } = new URL(mqtt.broker);
    const own = Number(written || (protocol === "mqtts:" ? boardTlsPort : 1883));
    return port === own ? protocol === "mqtts:" : undefined;
  }
  if (port === mqtt.port) return false;
  if (tls.cert === undefined) return undefined;
  return port === (mqtt.tlsPort ?? boardTlsPort) ? true : undefined;
}
