import { limits } from "@tendon/protocol";
import { expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { Credentials } from "../src/provisioning/credentials.ts";

function mac(index: number): string {
  const digits = index.toString(16).padStart(10, "0");
  return `02:${(digits.match(/../g) ?? []).join(":")}`;
}

// So many requests through the public interface would mostly measure the disk.
it("[OTA-2] unused credentials are bounded, and expired or used ones make room", async () => {
  const clock = new ManualClock();
  const credentials = new Credentials({
    admission: "open",
    secret: "a secret",
    clock,
    known: new Map(),
    remember: () => Promise.resolve(),
    pin: () => undefined,
  });
  const ask = (index: number) => credentials.approveTemporarily(mac(index), `client-${index}`);
  const standing = (index: number) => credentials.stateOf(mac(index), `client-${index}`);
  for (let index = 0; index < limits.unusedCredentials.max; index += 1) await ask(index);
  await expect(ask(999_999)).rejects.toThrow("have not connected yet");
  expect(standing(999_999).kind).toBe("unknown");

  const second = standing(2);
  if (second.kind !== "approved") throw new TypeError("it has credentials");
  credentials.admit({ deviceId: mac(2), clientId: "client-2", token: second.credentials.token });
  await ask(999_999);
  expect(standing(999_999).kind).toBe("approved");
  await expect(ask(999_998)).rejects.toThrow("have not connected yet");

  clock.advance(10 * 60_000);
  expect(standing(1).kind).toBe("unknown");
  expect(standing(2)).toEqual(second);
  await ask(999_998);
  expect(standing(999_998).kind).toBe("approved");
});
