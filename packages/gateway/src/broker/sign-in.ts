/** Decides about a CONNECT: signs the client in as a device or an app, or rejects it with the reason. */
import { type ErrorCode, limits, readMqttClientId } from "@tendon/protocol";
import type { AuthenticateError, Client } from "aedes";
import { messageOf } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { FlooderRefused } from "../intake.ts";
import { admitOrRefresh } from "../refreshed-admission.ts";
import { isDevice, isMalformed } from "./client-ids.ts";
import type { App, BrokerClaim, OpenDevice } from "./connections.ts";

/** Return codes of a CONNACK of MQTT 3.1.1. aedes maps them to the reason codes of MQTT 5. */
const BAD_CLIENT_ID = 2;
const UNAVAILABLE = 3;
const BAD_CREDENTIALS = 4;
const NOT_AUTHORISED = 5;

export interface SignInDependencies {
  readonly events: Events;
  /** Returns the handler of a device; throws with the reason if the device is not admitted. */
  readonly admitDevice: (claim: BrokerClaim) => OpenDevice;
  /** Returns the app of a token; throws if the token is not valid. */
  readonly admitApp: (claim: BrokerClaim) => App;
  /** Counts a failed sign-in. Returns how long the address has to wait [PRV-8]. */
  readonly signInFailed: (from: string | undefined) => number;
  /** Reads the credentials of a device again before it is rejected; `undefined` if this node knows all of them. */
  readonly refreshCredentials: (deviceId: string) => Promise<void> | undefined;
}

export interface Arrivals {
  isRejecting(): boolean;
  device(client: Client, open: OpenDevice): void;
  app(client: Client, app: App): void;
  /** The connection has ended, signed in or not. */
  closed(client: Client): void;
}

export function signIn(
  dependencies: SignInDependencies,
  arrivals: Arrivals,
  client: Client,
  credentials: Pick<BrokerClaim, "username" | "password" | "from">,
  done: (error: AuthenticateError | null, success: boolean | null) => void,
): void {
  const { from } = credentials;
  const claim: BrokerClaim = { clientId: client.id, ...credentials };
  const deviceOf = () => readMqttClientId(client.id)?.deviceId;
  const refuse = (code: ErrorCode, reason: string, returnCode: number) => {
    dependencies.events.connectionRefused({ code, reason, device: deviceOf(), from });
    done(Object.assign(new ConnectRejected(reason), { returnCode }), false);
  };
  if (arrivals.isRejecting()) {
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
  client.conn.once("close", () => arrivals.closed(client));
  const admit = () => {
    // It closed while its credentials were read.
    if (client.closed) return;
    if (isDevice(client.id)) arrivals.device(client, dependencies.admitDevice(claim));
    else arrivals.app(client, dependencies.admitApp(claim));
  };
  const rejected = (error: unknown) => {
    const returnCode = claim.password === undefined ? NOT_AUTHORISED : BAD_CREDENTIALS;
    const isFlooder = error instanceof FlooderRefused;
    if (!isFlooder && dependencies.signInFailed(from) === 0)
      refuse("unauthenticated", messageOf(error), returnCode);
    else {
      dependencies.events.connectionThrottled();
      const reason = isFlooder ? error.message : "too many failed sign-ins; retry later";
      done(Object.assign(new ConnectRejected(reason), { returnCode: UNAVAILABLE }), false);
    }
  };
  const refresh = (error: unknown) => {
    const device = error instanceof FlooderRefused ? undefined : deviceOf();
    return device === undefined ? undefined : dependencies.refreshCredentials(device);
  };
  admitOrRefresh(admit, { refresh, accepted: () => done(null, true), rejected });
}

class ConnectRejected extends Error {}
