import type { EventEmitter } from "node:events";
import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { limits, readMqttClientId } from "@tendon/protocol";
import { Aedes, type Client, type PublishPacket, type Subscription } from "aedes";
import type { Clock } from "../clock.ts";
import { messageOf, StartError } from "../errors.ts";
import { takenOver } from "../events/events.ts";
import { ConnackNotes, endSessionsAtOnce, noDelivery, registeredClient } from "./aedes-overrides.ts";
import { AppSubscriptions, isBadFilter } from "./app-subscriptions.ts";
import {
  appConnection,
  deviceConnection,
  holdConnack,
  releaseConnack,
  sendToApp,
} from "./client-connections.ts";
import { isMalformed, pushTopic, scopedClientId } from "./client-ids.ts";
import { ConnectionGate } from "./connection-gate.ts";
import {
  type App,
  type OpenDevice,
  type RequestProperties,
  readProperties,
  responseRoot,
} from "./connections.ts";
import { FilterTree } from "./filter-tree.ts";
import { NoStorage } from "./no-storage.ts";
import { paceEnd } from "./paced-connections.ts";
import type { AppPeer, DevicePeer, OpenSocket } from "./peers.ts";
import { RetainedMessages, type RetainedSource } from "./retained-messages.ts";
import { type SignInDependencies, signIn } from "./sign-in.ts";

export interface BrokerDependencies extends SignInDependencies {
  readonly clock: Clock;
  readonly deviceCutOff: (deviceId: string) => void;
  /** Current messages for a new subscription to these filters, sent if the app may see them. */
  readonly retained: RetainedSource;
}

const MQTT_5 = 5;
const deviceTopic = "device-server";
const connectTimeoutMs = 10_000;
/** MQTT clients may disable pings. TCP keep-alive then detects a vanished machine. */
const tcpKeepAliveMs = 60_000;
const drainTimeoutMs = 30_000;
/** Node's 511 overflow when a fleet comes back after a power cut; each overflow costs a board a second or more. */
const backlog = 4_096;
/** The type and the length of a packet, which MQTT 5 counts as parts of its size. */
const packetHeaderBytes = 4;
/** How long clients have to read the reason when the gateway stops. */
const farewellMs = 1_000;

export class EmbeddedBroker {
  readonly #dependencies: BrokerDependencies;
  readonly #aedes: Aedes;
  readonly #peers = new Map<Client, DevicePeer | AppPeer>();
  /** The newest peer of each device. */
  readonly #devices = new Map<string, DevicePeer>();
  readonly #subscriptions = new AppSubscriptions();
  readonly #connackNotes = new ConnackNotes();
  readonly #servers: net.Server[] = [];
  readonly #tlsServers: tls.Server[] = [];
  /** Every open connection. */
  readonly #sockets = new Map<Duplex, OpenSocket>();
  #rejecting = false;

  private constructor(dependencies: BrokerDependencies) {
    this.#dependencies = dependencies;
    this.#aedes = new Aedes({
      mq: noDelivery,
      persistence: new NoStorage(),
      drainTimeout: drainTimeoutMs,
      maxClientsIdLength: limits.mqttClientIdLength.max,
      maxTopicLevels: 16,
      // Advertised to clients of MQTT 5. The connection gate enforces it.
      maximumPacketSize: limits.mqttPacketBytes.max + packetHeaderBytes,
      receiveMaximum: limits.mqttUnreleased.max,
      responseInformation: responseRoot,
      preConnect: (client, packet, done) => {
        const { conn } = client;
        // A client without MQTT's own keep-alive would never be missed.
        if (packet.keepalive === 0 && conn instanceof net.Socket) conn.setKeepAlive(true, tcpKeepAliveMs);
        // No persistent sessions and no wills: no message waits for a disconnected client.
        const clientId = scopedClientId(packet.clientId, packet.password);
        this.#connackNotes.take(client, packet, clientId);
        Object.assign(packet, { clean: true, clientId, will: undefined });
        done(null, true);
      },
      authenticate: (client, username, password, done) => {
        this.#connackNotes.apply(client);
        const socket = this.#sockets.get(client.conn);
        if (socket !== undefined) socket.client = client;
        const credentials = { username, password: password?.toString(), from: socket?.from };
        signIn(dependencies, this.#arrivals, client, credentials, done);
      },
      authorizePublish: (client, packet, done) => {
        // The broker stores no retained messages.
        packet.retain = false;
        if (isMalformed(packet.topic)) client?.close();
        done(client === null ? null : this.#publishRejection(client, packet));
      },
      published: (packet, client: Client | null, done) => {
        if (client !== null && !client.closed) this.#received(client, packet);
        done(null);
      },
      authorizeSubscribe: (client, subscription, done) => {
        done(null, this.#subscribe(client, subscription) ? subscription : null);
      },
      authorizeForward: (client, packet) => (this.#mayReceive(client, packet.topic) ? packet : null),
    });
    endSessionsAtOnce(this.#aedes);
    this.#aedes.on("clientReady", (client) => this.#ready(client));
    this.#aedes.on("ping", (_packet, client) => this.#pinged(client));
    this.#aedes.on("subscribe", (subscriptions, client) => this.#sendRetained(client, subscriptions));
    this.#aedes.on("unsubscribe", (filters, client) => this.#removeFilters(client, filters));
    this.#aedes.on("clientDisconnect", (client) =>
      this.#disconnected(client, "the device closed the connection"),
    );
    this.#aedes.on("keepaliveTimeout", (client) =>
      this.#disconnected(client, "the device stopped sending keep-alives"),
    );
    this.#aedes.on("clientError", (client, error) => {
      // Clients of MQTT 5 stay connected after a rejected message.
      if (client.conn.destroyed) this.#disconnected(client, `the connection was lost (${error.message})`);
    });
    this.#aedes.on("connectionError", () => undefined);
    // Missing in its types. Without a listener, an error of one client would end the process.
    const emitter: EventEmitter = this.#aedes;
    emitter.on("error", () => undefined);
  }

  static async start(dependencies: BrokerDependencies): Promise<EmbeddedBroker> {
    const broker = new EmbeddedBroker(dependencies);
    await broker.#aedes.listen();
    return broker;
  }

  /** Listens for MQTT over TCP, or over TLS with `keys`. Returns the actual port. */
  async listen(host: string, port: number, keys?: { cert: Buffer; key: Buffer }): Promise<number> {
    const handle = (socket: net.Socket) => this.accept(socket, socket.remoteAddress);
    const server = keys === undefined ? net.createServer(handle) : this.#tlsServer(keys, handle);
    server.on("error", () => undefined);
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        const why =
          error.code === "EADDRINUSE" ? "is already in use" : `cannot be used (${messageOf(error)})`;
        const [what, setting] =
          keys === undefined ? ["MQTT port", "--mqtt-port"] : ["MQTT TLS port", "`mqtt.tlsPort`"];
        reject(
          new StartError(
            `${what} ${port} on ${host} ${why}. Choose another with ${setting}, or 0 for a free one.`,
          ),
        );
      });
      server.listen({ port, host, backlog }, resolve);
    });
    this.#servers.push(server);
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  /** New connections get this certificate. Open connections are not affected. */
  useKeys(keys: { readonly cert: Buffer; readonly key: Buffer }): void {
    for (const server of this.#tlsServers) server.setSecureContext(keys);
  }

  /** Accepts a connection: a TCP or TLS socket, or the stream of a WebSocket. */
  accept(socket: Duplex, from: string | undefined): void {
    if (this.#sockets.size >= limits.connectedDevices.max) {
      socket.destroy();
      return;
    }
    const { clock, events, signInFailed } = this.#dependencies;
    const gate = new ConnectionGate(clock, socket, {
      rejected: (reason) => {
        // Throttled, so that repeated attempts do not fill the log.
        if (signInFailed(from) > 0) events.connectionThrottled();
        else events.connectionRefused({ code: "payload_too_large", reason, from });
      },
      paused: () => events.connectionPaused(this.#deviceOf(this.#sockets.get(socket)?.client)),
      flooded: (exceeded) => this.#flooded(socket, exceeded),
    });
    const signInDeadline = clock.after(connectTimeoutMs, () => socket.destroy());
    this.#sockets.set(socket, { from, gate, signInDeadline, client: undefined });
    socket.once("close", () => {
      signInDeadline.cancel();
      gate.end();
      this.#sockets.delete(socket);
    });
    if (socket instanceof net.Socket) socket.setNoDelay(true);
    paceEnd(socket);
    this.#aedes.handle(socket);
  }

  /**
   * Publishes to the apps that may see the topic, without the broker's own delivery. There, an app that does not read
   * would block the others, and a reply in between makes the broker drop queued messages as duplicates.
   */
  publish(topic: string, payload: string): void {
    for (const peer of this.#subscriptions.matching(topic)) sendToApp(peer, topic, payload);
  }

  /** Rejects new connections: the port is closed for load balancers, and clients that are connecting get the reason. */
  rejectNew(): void {
    this.#rejecting = true;
    for (const server of this.#servers) server.close();
  }

  async stop(): Promise<void> {
    this.rejectNew();
    const destroyAll = () => {
      for (const socket of this.#sockets.keys()) socket.destroy();
    };
    // aedes waits for each client of MQTT 5 to read why it is disconnected.
    for (const socket of this.#sockets.keys()) if (socket.writableNeedDrain) socket.destroy();
    const deadline = this.#dependencies.clock.after(farewellMs, destroyAll);
    await new Promise<void>((resolve) => this.#aedes.close(() => resolve()));
    deadline.cancel();
    destroyAll();
  }

  #tlsServer(keys: { cert: Buffer; key: Buffer }, handle: (socket: net.Socket) => void): tls.Server {
    const server = tls.createServer({ ...keys, handshakeTimeout: connectTimeoutMs }, handle);
    this.#tlsServers.push(server);
    return server;
  }

  readonly #arrivals = {
    isRejecting: () => this.#rejecting,
    device: (client: Client, open: OpenDevice) => {
      // The broker closes the device's older connection next. Mark it, so that its end gets the right reason.
      const older = this.#devices.get(client.id);
      if (older !== undefined) older.displaced = true;
      this.#makeWay(client.id);
      const clientId = client.id;
      const peer: DevicePeer = {
        kind: "device",
        clientId,
        open,
        listener: undefined,
        early: [],
        displaced: false,
      };
      this.#peers.set(client, peer);
      this.#devices.set(clientId, peer);
      holdConnack(client);
    },
    app: (client: Client, app: App) => {
      this.#makeWay(client.id);
      this.#sockets.get(client.conn)?.gate.isApp();
      this.#peers.set(client, {
        kind: "app",
        client,
        app,
        filters: new Map(),
        identifiers: new FilterTree(),
        retained: new RetainedMessages(client, this.#dependencies.retained),
        disconnected: undefined,
        early: [],
      });
    },
    closed: (client: Client) => this.#disconnected(client, "the device closed the connection"),
  };

  /** aedes lets a new connection wait until the older one has read why it ends, which a vanished client never does. */
  #makeWay(clientId: string): void {
    const older = registeredClient(this.#aedes, clientId);
    if (older?.conn.writableNeedDrain === true) older.conn.destroy();
  }

  #ready(client: Client): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    const socket = this.#sockets.get(client.conn);
    socket?.signInDeadline.cancel();
    if (peer.kind === "app") {
      peer.disconnected = peer.app.connected(
        appConnection(peer, (topic) => this.#subscriptions.matches(topic, peer)),
      );
      for (const { topic, bytes, properties } of peer.early.splice(0))
        if (!client.closed) peer.app.published(topic, bytes, properties);
    } else {
      try {
        peer.listener = peer.open(deviceConnection(client, socket?.gate));
        for (const message of peer.early.splice(0)) peer.listener.message(message);
      } catch {
        // The device was revoked during the sign-in.
        client.close();
      }
      releaseConnack(client);
    }
  }

  /** Clients of MQTT 5 learn that a message with an acknowledgement was rejected. Older versions have no code for it. */
  #publishRejection(client: Client, { topic, qos }: PublishPacket): Error | null {
    if (client.version !== MQTT_5 || qos === 0) return null;
    const peer = this.#peers.get(client);
    if (peer?.kind !== "app" && topic !== deviceTopic) this.#anotherTopic(client);
    const reason =
      peer?.kind === "app"
        ? peer.app.rejection(topic)
        : topic === deviceTopic
          ? undefined
          : `devices publish to ${deviceTopic} only`;
    return reason === undefined ? null : new PublishRejected(reason);
  }

  #received(client: Client, { topic, payload, properties }: PublishPacket): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
    if (peer.kind === "app") this.#requestReceived(peer, topic, bytes, readProperties(properties));
    else if (topic === deviceTopic) this.#frameReceived(peer, bytes);
    else this.#anotherTopic(client);
  }

  #anotherTopic(client: Client): void {
    const device = this.#deviceOf(client) ?? "";
    this.#dependencies.events.frameNotUnderstood(device, "unknown", `another topic than ${deviceTopic}`);
  }

  #frameReceived(peer: DevicePeer, bytes: Buffer): void {
    if (peer.listener !== undefined) peer.listener.message(bytes);
    else if (peer.early.length < maxEarly) peer.early.push(bytes);
  }

  #requestReceived(peer: AppPeer, topic: string, bytes: Buffer, properties: RequestProperties): void {
    if (peer.disconnected !== undefined) peer.app.published(topic, bytes, properties);
    else if (peer.early.length < maxEarly) peer.early.push({ topic, bytes, properties });
  }

  #pinged(client: Client): void {
    const peer = this.#peers.get(client);
    if (peer?.kind === "device") peer.listener?.alive();
  }

  #deviceOf(client: Client | undefined): string | undefined {
    const peer = client === undefined ? undefined : this.#peers.get(client);
    return peer?.kind === "device" ? readMqttClientId(peer.clientId)?.deviceId : undefined;
  }

  /** The client's connection is about to be destroyed. */
  #flooded(socket: Duplex, exceeded: "frames" | "bytes"): void {
    const { client, from } = this.#sockets.get(socket) ?? {};
    const peer = client === undefined ? undefined : this.#peers.get(client);
    const who = peer?.kind === "app" ? "app" : "device";
    const reason = `the ${who} sends too many ${exceeded}`;
    const device = this.#deviceOf(client);
    if (device !== undefined) this.#dependencies.deviceCutOff(device);
    this.#dependencies.events.connectionRefused({ code: "rate_limited", reason, device, from });
    if (client !== undefined) this.#disconnected(client, reason);
  }

  #disconnected(client: Client, reason: string): void {
    const peer = this.#peers.get(client);
    this.#peers.delete(client);
    if (peer?.kind === "device" && this.#devices.get(peer.clientId) === peer)
      this.#devices.delete(peer.clientId);
    if (peer?.kind === "device") peer.listener?.closed(peer.displaced ? takenOver : reason);
    if (peer?.kind !== "app") return;
    this.#subscriptions.removeAll(peer);
    peer.disconnected?.();
  }

  #subscribe(client: Client, subscription: Subscription): boolean {
    const peer = this.#peers.get(client);
    if (peer?.kind === "app") return this.#subscriptions.add(peer, subscription);
    const { topic } = subscription;
    return peer !== undefined && !isBadFilter(topic) && topic === pushTopic(peer.clientId);
  }

  #mayReceive(client: Client, topic: string): boolean {
    const peer = this.#peers.get(client);
    if (peer === undefined) return false;
    return peer.kind === "device" ? topic === pushTopic(peer.clientId) : peer.app.maySee(topic);
  }

  #sendRetained(client: Client, subscriptions: readonly Subscription[]): void {
    const peer = this.#peers.get(client);
    if (peer?.kind === "app") peer.retained.send(this.#subscriptions.wantRetained(subscriptions));
  }

  #removeFilters(client: Client, filters: readonly string[]): void {
    const peer = this.#peers.get(client);
    if (peer?.kind !== "app") return;
    for (const filter of filters) this.#subscriptions.remove(peer, filter);
  }
}

/** The time before the ready event is milliseconds long. Further messages are dropped. */
const maxEarly = 32;

class PublishRejected extends Error {}
