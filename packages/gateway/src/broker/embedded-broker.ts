import type { EventEmitter } from "node:events";
import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { type ErrorCode, limits, readMqttClientId } from "@tendon/protocol";
import { Aedes, type AuthenticateError, type Client, type PublishPacket, type Subscription } from "aedes";
import type { Clock } from "../clock.ts";
import { messageOf, StartError } from "../errors.ts";
import { type Events, takenOver } from "../events/events.ts";
import { FlooderRefused } from "../intake.ts";
import { admitOrRefresh } from "../refreshed-admission.ts";
import { noDelivery } from "./aedes-overrides.ts";
import { appConnection, deviceConnection, sendToApp } from "./client-connections.ts";
import { isDevice, isMalformed, pushTopic, scopedClientId } from "./client-ids.ts";
import { ConnectionGate } from "./connection-gate.ts";
import type { App, BrokerClaim, OpenDevice } from "./connections.ts";
import { FilterTree } from "./filter-tree.ts";
import type { AppPeer, DevicePeer, OpenSocket } from "./peers.ts";
import { RetainedMessages, type RetainedSource } from "./retained-messages.ts";

export interface BrokerDependencies {
  readonly clock: Clock;
  readonly events: Events;
  /** Returns the handler of a device; throws with the reason if the device is not admitted. */
  readonly admitDevice: (claim: BrokerClaim) => OpenDevice;
  readonly deviceCutOff: (deviceId: string) => void;
  /** Returns the app of a token; throws if the token is not valid. */
  readonly admitApp: (claim: BrokerClaim) => App;
  /** Current messages for a new subscription to these filters, sent if the app may see them. */
  readonly retained: RetainedSource;
  /** Counts a failed sign-in. Returns how long the address has to wait [PRV-8]. */
  readonly signInFailed: (from: string | undefined) => number;
  /** Reads the credentials of a device again before it is rejected; `undefined` if this node knows all of them. */
  readonly refreshCredentials: (deviceId: string) => Promise<void> | undefined;
}

const deviceTopic = "device-server";
const appRoot = "tendon/";
const connectTimeoutMs = 10_000;
/** MQTT clients may disable pings. TCP keep-alive then detects a vanished machine. */
const tcpKeepAliveMs = 60_000;
const drainTimeoutMs = 30_000;
/** Node's 511 overflow when a fleet comes back after a power cut; each overflow costs a board a second or more. */
const backlog = 4_096;
const BAD_CLIENT_ID = 2;
const UNAVAILABLE = 3;
const BAD_CREDENTIALS = 4;
const NOT_AUTHORISED = 5;
/** The return code of a SUBACK for a rejected filter. */
const NOT_GRANTED = 128;

export class EmbeddedBroker {
  readonly #dependencies: BrokerDependencies;
  readonly #aedes: Aedes;
  readonly #peers = new Map<Client, DevicePeer | AppPeer>();
  /** The newest peer of each device. */
  readonly #devices = new Map<string, DevicePeer>();
  readonly #subscribers = new FilterTree<AppPeer>();
  readonly #servers: net.Server[] = [];
  readonly #tlsServers: tls.Server[] = [];
  /** Every open connection. */
  readonly #sockets = new Map<Duplex, OpenSocket>();
  #rejecting = false;

  private constructor(dependencies: BrokerDependencies) {
    this.#dependencies = dependencies;
    this.#aedes = new Aedes({
      mq: noDelivery,
      drainTimeout: drainTimeoutMs,
      maxClientsIdLength: limits.mqttClientIdLength.max,
      maxTopicLevels: 16,
      preConnect: ({ conn }, packet, done) => {
        // A client without MQTT's own keep-alive would never be missed.
        if (packet.keepalive === 0 && conn instanceof net.Socket) conn.setKeepAlive(true, tcpKeepAliveMs);
        // No persistent sessions and no wills: no message waits for a disconnected client.
        const clientId = scopedClientId(packet.clientId, packet.password);
        Object.assign(packet, { clean: true, clientId, will: undefined });
        done(null, true);
      },
      authenticate: (client, username, password, done) =>
        this.#authenticate(client, username, password, done),
      authorizePublish: (client, packet, done) => {
        // The broker stores no retained messages.
        packet.retain = false;
        if (isMalformed(packet.topic)) client?.close();
        done(null);
      },
      published: (packet, client: Client | null, done) => {
        if (client !== null && !client.closed) this.#received(client, packet);
        done(null);
      },
      authorizeSubscribe: (client, subscription, done) => {
        done(null, this.#maySubscribe(client, subscription.topic) ? subscription : null);
      },
      authorizeForward: (client, packet) => (this.#mayReceive(client, packet.topic) ? packet : null),
    });
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
    this.#aedes.on("clientError", (client, error) =>
      this.#disconnected(client, `the connection was lost (${error.message})`),
    );
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
    this.#aedes.handle(socket);
  }

  /**
   * Publishes to the apps that may see the topic, without the broker's own delivery. There, an app that does not read
   * would block the others, and a reply in between makes the broker drop queued messages as duplicates.
   */
  publish(topic: string, payload: string): void {
    for (const { client } of this.#subscribers.matching(topic)) sendToApp(client, topic, payload);
  }

  /** Rejects new connections: the port is closed for load balancers, and clients that are connecting get the reason. */
  rejectNew(): void {
    this.#rejecting = true;
    for (const server of this.#servers) server.close();
  }

  async stop(): Promise<void> {
    this.rejectNew();
    await new Promise<void>((resolve) => this.#aedes.close(() => resolve()));
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  #tlsServer(keys: { cert: Buffer; key: Buffer }, handle: (socket: net.Socket) => void): tls.Server {
    const server = tls.createServer({ ...keys, handshakeTimeout: connectTimeoutMs }, handle);
    this.#tlsServers.push(server);
    return server;
  }

  #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: (error: AuthenticateError | null, success: boolean | null) => void,
  ): void {
    const socket = this.#sockets.get(client.conn);
    const from = socket?.from;
    if (socket !== undefined) socket.client = client;
    const claim: BrokerClaim = { clientId: client.id, username, password: password?.toString(), from };
    const deviceOf = () => readMqttClientId(client.id)?.deviceId;
    const refuse = (code: ErrorCode, reason: string, returnCode: number) => {
      this.#dependencies.events.connectionRefused({ code, reason, device: deviceOf(), from });
      done(Object.assign(new ConnectRejected(reason), { returnCode }), false);
    };
    if (this.#rejecting) {
      refuse("shutting_down", "the gateway is stopping", UNAVAILABLE);
      return;
    }
    if (isMalformed(client.id)) {
      refuse("bad_request", "the client id has characters that MQTT forbids", BAD_CLIENT_ID);
      return;
    }
    if (client.id.length > limits.mqttClientIdLength.max) {
      refuse(limits.mqttClientIdLength.error, "the client id is too long", BAD_CLIENT_ID);
      return;
    }
    // The broker reports the end only of registered clients. A connection may end before that.
    client.conn.once("close", () => this.#disconnected(client, "the device closed the connection"));
    const admit = () => {
      // It closed while its credentials were read.
      if (client.closed) return;
      if (isDevice(client.id)) {
        const open = this.#dependencies.admitDevice(claim);
        // The broker closes the device's older connection next. Mark it, so that its end gets the right reason.
        const older = this.#devices.get(client.id);
        if (older !== undefined) older.displaced = true;
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
      } else {
        const app = this.#dependencies.admitApp(claim);
        socket?.gate.isApp();
        this.#peers.set(client, {
          kind: "app",
          client,
          app,
          filters: new Set(),
          retained: new RetainedMessages(client, this.#dependencies.retained),
          disconnected: undefined,
          early: [],
        });
      }
    };
    const rejected = (error: unknown) => {
      const returnCode = claim.password === undefined ? NOT_AUTHORISED : BAD_CREDENTIALS;
      const isFlooder = error instanceof FlooderRefused;
      if (!isFlooder && this.#dependencies.signInFailed(from) === 0)
        refuse("unauthenticated", messageOf(error), returnCode);
      else {
        this.#dependencies.events.connectionThrottled();
        const reason = isFlooder ? error.message : "too many failed sign-ins; retry later";
        done(Object.assign(new ConnectRejected(reason), { returnCode: UNAVAILABLE }), false);
      }
    };
    const { refreshCredentials } = this.#dependencies;
    const refresh = (error: unknown) => {
      const device = error instanceof FlooderRefused ? undefined : deviceOf();
      return device === undefined ? undefined : refreshCredentials(device);
    };
    admitOrRefresh(admit, { refresh, accepted: () => done(null, true), rejected });
  }

  #ready(client: Client): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    const socket = this.#sockets.get(client.conn);
    socket?.signInDeadline.cancel();
    if (peer.kind === "app") {
      peer.disconnected = peer.app.connected(
        appConnection(client, (topic) => this.#subscribers.matches(topic, peer)),
      );
      for (const { topic, bytes } of peer.early.splice(0))
        if (!client.closed) peer.app.published(topic, bytes);
    } else {
      try {
        peer.listener = peer.open(deviceConnection(client, socket?.gate));
        for (const message of peer.early.splice(0)) peer.listener.message(message);
      } catch {
        // The device was revoked during the sign-in.
        client.close();
      }
    }
  }

  #received(client: Client, { topic, payload }: PublishPacket): void {
    const peer = this.#peers.get(client);
    if (peer === undefined) return;
    const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
    if (peer.kind === "app") this.#requestReceived(peer, topic, bytes);
    else if (topic === deviceTopic) this.#frameReceived(peer, bytes);
    else {
      const device = this.#deviceOf(client) ?? "";
      this.#dependencies.events.frameNotUnderstood(device, "unknown", `another topic than ${deviceTopic}`);
    }
  }

  #frameReceived(peer: DevicePeer, bytes: Buffer): void {
    if (peer.listener !== undefined) peer.listener.message(bytes);
    else if (peer.early.length < maxEarly) peer.early.push(bytes);
  }

  #requestReceived(peer: AppPeer, topic: string, bytes: Buffer): void {
    if (peer.disconnected !== undefined) peer.app.published(topic, bytes);
    else if (peer.early.length < maxEarly) peer.early.push({ topic, bytes });
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
    for (const filter of peer.filters) this.#subscribers.delete(filter, peer);
    peer.disconnected?.();
  }

  #maySubscribe(client: Client, filter: string): boolean {
    const peer = this.#peers.get(client);
    if (peer === undefined || filter.length > limits.mqttTopicLength.max || isMalformed(filter)) return false;
    if (peer.kind === "device") return filter === pushTopic(peer.clientId);
    if (peer.filters.has(filter)) return true;
    if (!filter.startsWith(appRoot) || peer.filters.size >= limits.mqttSubscriptions.max) return false;
    peer.filters.add(filter);
    this.#subscribers.add(filter, peer);
    return true;
  }

  #mayReceive(client: Client, topic: string): boolean {
    const peer = this.#peers.get(client);
    if (peer === undefined) return false;
    return peer.kind === "device" ? topic === pushTopic(peer.clientId) : peer.app.maySee(topic);
  }

  #sendRetained(client: Client, subscriptions: readonly Subscription[]): void {
    const peer = this.#peers.get(client);
    if (peer?.kind !== "app") return;
    const granted = subscriptions.filter(({ qos }) => Number(qos) !== NOT_GRANTED).map(({ topic }) => topic);
    peer.retained.send(granted);
  }

  #removeFilters(client: Client, filters: readonly string[]): void {
    const peer = this.#peers.get(client);
    if (peer?.kind !== "app") return;
    for (const filter of filters) {
      peer.filters.delete(filter);
      this.#subscribers.delete(filter, peer);
    }
  }
}

/** The time before the ready event is milliseconds long. Further messages are dropped. */
const maxEarly = 32;

class ConnectRejected extends Error {}
