import type {
  Approvals,
  CallQueue,
  Calls,
  Control,
  FanOut,
  History,
  Idempotency,
  PhotoAccess,
} from "../calls/calls.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Toolset } from "../toolset/toolset.ts";

/** What every interface offers to its clients. */
export interface Services {
  readonly fleet: Fleet;
  readonly calls: Calls;
  readonly fanOut: FanOut;
  readonly control: Control;
  readonly approvals: Approvals;
  readonly idempotency: Idempotency;
  readonly history: History;
  /** The calls that wait for devices that are away. */
  readonly queue: CallQueue;
  readonly photos: PhotoAccess;
  readonly toolset: Toolset;
}
