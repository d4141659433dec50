/** The credentials of a device in its record. The module `provisioning` creates and revokes them. */
import type { StoredDevice } from "../store/store.ts";

/** `clientId` is a digest, because the Client-Id itself grants access. */
export interface ApprovedPair {
  readonly state: "approved";
  readonly clientId: Buffer;
  /** `pinnedGeneration` for a board without credentials. */
  readonly generation: number;
  /** Unused credentials expire, so that a client cannot reserve an id for ever by asking for it. */
  readonly lapsesAt: number | undefined;
}

/**
 * With open admission a board may connect without credentials. From its first hello on, only its Client-Id admits it, so
 * that nobody can displace it by claiming its Device-Id.
 */
export const pinnedGeneration = 0;

/** Only a person can approve a revoked device again. */
export type CredentialPair =
  | ApprovedPair
  | { readonly state: "revoked"; readonly clientId: Buffer | undefined };

export function restoredPair({
  approval,
  clientIdHash,
  generation,
  lapsesAt,
}: StoredDevice): CredentialPair | undefined {
  const clientId = clientIdHash === undefined ? undefined : Buffer.from(clientIdHash, "hex");
  if (approval === "revoked") return { state: "revoked", clientId };
  return clientId === undefined ? undefined : { state: "approved", clientId, generation, lapsesAt };
}

export function storedPair(pair: CredentialPair | undefined) {
  const approved = pair?.state === "approved" ? pair : undefined;
  return {
    approval: pair?.state ?? "approved",
    clientIdHash: pair?.clientId?.toString("hex"),
    generation: approved?.generation ?? 0,
    lapsesAt: approved?.lapsesAt,
  };
}
