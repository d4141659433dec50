/** Connects devices and apps with the embedded MQTT broker, or devices with an external one. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Authentication, Principal } from "../access/access.ts";
import { type Certificate, MqttTopics, type Services } from "../agent/agent.ts";
import { EmbeddedBroker, loadOutsideBroker, MqttWebSocket } from "../broker/broker.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { DeviceIdentity, MqttConnection, MqttListener } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Flooders } from "../intake.ts";
import { type Credentials, type DeviceSignIn, SeenClients } from "../provisioning/provisioning.ts";
import type { Store } from "../store/store.ts";

export interface MqttTransport {
  /** The port for devices: that of the external broker, if one is configured. `undefined` without a plain port. */
  readonly port: number | undefined;
  /** The TLS port of the embedded broker, if there is a certificate. */
  readonly tlsPort: number | undefined;
  readonly host: string | undefined;
  /** The topic and the user name in a device's settings. */
  settingsFor(
    clientId: string,
    deviceId: string,
  ): { readonly publish_topic: string; readonly username: string };
  /** MQTT over WebSocket; returns `false` if it is not available. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** The reason if MQTT is not ready. */
  unready(): string | undefined;
  /** Rejects new connections from now on. */
  rejectNew(): void;
  stop(): Promise<void>;
}

export interface MqttDependencies extends DeviceSignIn {
  readonly config: Config;
  readonly certificate: Certificate | undefined;
  readonly clock: Clock;
  readonly services: Services;
  readonly events: Events;
  readonly authentication: Authentication;
  readonly onRevoked: (listener: (tokenId: string) => void) => () => void;
  readonly isValid: (principal: Principal) => boolean;
  readonly credentials: Credentials;
  readonly store: Store;
  readonly secret: string;
  readonly openDevice: (identity: DeviceIdentity, connection: MqttConnection) => MqttListener;
  readonly flooders: Flooders;
  readonly reportFault: (error: unknown) => void;
}

const tlsPort = 8883;
const plainPort = 1883;

export async function startMqtt(dependencies: MqttDependencies): Promise<MqttTransport> {
  const { broker } = dependencies.config.mqtt;
  return broker === undefined
    ? await startEmbedded(dependencies)
    : await startExternal(dependencies, new URL(broker));
}

async function startEmbedded(dependencies: MqttDependencies) {
  const { config, clock, services, events, authentication, onRevoked, credentials, openDevice, flooders } =
    dependencies;
  const topics: MqttTopics = new MqttTopics({
    services,
    events,
    onRevoked,
    isValid: dependencies.isValid,
    spend: (principal) => authentication.spend(principal),
    reportFault: dependencies.reportFault,
    publish: (topic, payload) => broker.publish(topic, payload),
  });
  const broker: EmbeddedBroker = await EmbeddedBroker.start({
    clock,
    events,
    signInFailed: dependencies.signInFailed,
    refreshCredentials: dependencies.refreshCredentials,
    retained: (filters) => topics.retained(filters),
    deviceCutOff: (deviceId) => flooders.cutOff(deviceId),
    admitDevice(claim) {
      flooders.requireRest(credentials.admitMqtt(claim).deviceId);
      // Checked again when the connection is open, because the credentials may have been revoked meanwhile.
      return (connection) => openDevice(credentials.admitMqtt(claim), connection);
    },
    admitApp(claim) {
      const principal = authentication.identify(claim.password, claim.from);
      if (principal === undefined) {
        throw new TendonError("unauthenticated", "the password is not a valid token");
      }
      return {
        maySee: (topic) => topics.maySee(principal, topic),
        connected: (connection) => topics.connected(principal, connection),
        published: (topic, payload, properties) => topics.published(principal, topic, payload, properties),
        rejection: (topic) => topics.rejection(topic),
      };
    },
  });
  const stop = async () => {
    topics.stop();
    await broker.stop();
  };
  const webSocket = new MqttWebSocket((stream, request) =>
    broker.accept(stream, dependencies.addressOf(request)),
  );
  try {
    const ports = await listen(broker, config, dependencies.certificate);
    return {
      ...ports,
      host: undefined,
      settingsFor: (_clientId: string, deviceId: string) => ({
        publish_topic: "device-server",
        username: deviceId,
      }),
      upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
        webSocket.upgrade(request, socket, head);
        return true;
      },
      unready: () => undefined,
      rejectNew: () => broker.rejectNew(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listen(
  broker: EmbeddedBroker,
  { http, mqtt }: Config,
  certificate: Certificate | undefined,
): Promise<Pick<MqttTransport, "port" | "tlsPort">> {
  if (certificate === undefined) {
    return { port: await listenPlain(broker, http.host, mqtt.port), tlsPort: undefined };
  }
  const secure = await broker.listen(http.host, mqtt.tlsPort ?? tlsPort, certificate.pair);
  certificate.serve((pair) => broker.useKeys(pair));
  return { port: await listenPlain(broker, http.host, mqtt.port), tlsPort: secure };
}

async function listenPlain(broker: EmbeddedBroker, host: string, port: Config["mqtt"]["port"]) {
  return port === "off" ? undefined : await broker.listen(host, port);
}

/** [MQT-10] The user name is the client id, so that the broker's ACL can restrict each client to its own topic. */
async function startExternal(
  { clock, events, credentials, store, secret, signInFailed, openDevice }: MqttDependencies,
  url: URL,
): Promise<MqttTransport> {
  const { OutsideBroker } = await loadOutsideBroker();
  const seen = new SeenClients({
    settings: store.settings,
    secret,
    isAdmitted: (clientId) => credentials.admitsTopic(clientId),
    onFault: (device, error) => events.notStored(device, error),
  });
  const broker = new OutsideBroker({
    clock,
    events,
    url: url.href,
    random: Math.random,
    signInFailed: () => signInFailed(url.hostname),
    seen: await seen.all(),
    firstSeen: (clientId) => seen.remember(clientId),
    admitDevice(clientId) {
      const identity = credentials.admitTopic(clientId);
      return (connection) => openDevice(identity, connection);
    },
  });
  return {
    port: Number(url.port || (url.protocol === "mqtts:" ? tlsPort : plainPort)),
    tlsPort: undefined,
    host: url.hostname,
    settingsFor: (clientId) => ({ publish_topic: `device-server/${clientId}`, username: clientId }),
    upgrade: () => false,
    unready: () => (broker.connected ? undefined : "the external MQTT broker does not answer"),
    rejectNew: () => broker.rejectNew(),
    stop: () => broker.stop(),
  };
}
