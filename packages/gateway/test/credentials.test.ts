import { limits } from "@tendon/protocol";
import { expect, it } from "vitest";
import { Credentials } from "../src/registry/credentials.ts";

function mac(index: number): string {
  const digits = index.toString(16).padStart(10, "0");
  return `02:${(digits.match(/../g) ?? []).join(":")}`;
}

// Asking so often through the public door would mostly measure the disk.
it("[OTA-2] credentials nobody has used are bounded, and make room as they lapse or are used", () => {
  let now = 1_000_000;
  const credentials = new Credentials({
    admission: "open",
    secret: "a secret",
    clock: {
      now: () => now,
      monotonic: () => now,
      after: () => ({ cancel: () => undefined }),
      every: () => ({ cancel: () => undefined }),
    },
    known: new Map(),
    remember: () => undefined,
  });
  for (let index = 0; index < limits.unusedCredentials.max; index += 1) {
    credentials.provisionUnasked(mac(index), `client-${index}`);
  }
  const one = () => credentials.provisionUnasked(mac(999_999), "client-999999");
  expect(one).toThrow("have not come yet");
  expect(credentials.provisionUnasked(mac(1), "client-1").deviceId).toBe(mac(1));

  const { token } = credentials.provisionUnasked(mac(2), "client-2");
  credentials.admit({ deviceId: mac(2), clientId: "client-2", token });
  expect(one().deviceId).toBe(mac(999_999));
  expect(() => credentials.provisionUnasked(mac(999_998), "client-999998")).toThrow("have not come yet");

  now += 10 * 60_000;
  expect(credentials.provisionUnasked(mac(999_998), "client-999998").deviceId).toBe(mac(999_998));
});
