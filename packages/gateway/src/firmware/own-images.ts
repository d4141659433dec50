/**
 * The images of an administrator whose token is limited [FWU-2]: those that are offered only to tags of the token, so that
 * it reaches no device that the token cannot see.
 */
import type { Principal } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { FirmwareImage } from "../store/store.ts";

export function hasImage(principal: Principal, { tags }: Pick<FirmwareImage, "tags">): boolean {
  const { devices } = principal;
  return devices === undefined || (tags.length > 0 && tags.every((tag) => devices.tags.has(tag)));
}

export function requireOwnTags(principal: Principal, tags: readonly string[]): void {
  if (hasImage(principal, { tags })) return;
  const own = [...(principal.devices?.tags ?? [])].map((tag) => `\`${tag}\``);
  throw new TendonError(
    "forbidden",
    own.length === 0
      ? "this token is limited to single devices; images are offered by tag"
      : `this token offers images only to its own tags: name one or more of ${own.join(", ")}`,
  );
}
