import { readBoardEndpoint, readBoardUrl } from "@tendon/protocol";
import { describe, expect, test } from "vitest";

describe("[OTA-9] an address as a board parses it", () => {
  test.each([
    [
      "http://192.168.1.20:8000/xiaozhi/ota/",
      { secure: false, host: "192.168.1.20", port: 8000, path: "/xiaozhi/ota/" },
    ],
    ["https://tendon.example/xiaozhi/ota/", { secure: true, host: "tendon.example", port: 443 }],
    ["http://tendon.example", { secure: false, host: "tendon.example", port: 80, path: "/" }],
    ["wss://tendon.example:8443/xiaozhi/v1/", { secure: true, port: 8443 }],
    ["ws://tendon.example/xiaozhi/v1/", { secure: false, port: 80 }],
    ["http://tendon.example:8000/a:b", { port: 8000, path: "/a:b" }],
    ["http://my_host-1.example:65535/", { host: "my_host-1.example", port: 65_535 }],
  ])("%s", (url, read) => {
    expect(readBoardUrl(url)).toMatchObject({ kind: "read", ...read });
  });

  test.each([
    ["tendon.example/xiaozhi/ota/", /`:\/\/`/],
    ["http://a", /fewer than 10/],
    ["http://tendon.example/a:b", /restart over it/],
    ["http://tendon.example/?at=12:30", /restart over it/],
    ["http://user:secret@tendon.example/", /user name/],
    ["http://[fd00::1]:8000/xiaozhi/ota/", /IPv6/],
    ["http://tendon.example:port/", /port is no number/],
    ["http://tendon.example:70000/", /port is no number/],
    ["http://tendon.example:0/", /port is no number/],
    ["http://tendon.example?x=1", /right behind the host/],
    ["http://tendön.example/ota/", /cannot look up/],
    ["http://tendon example/ota/", /blank/],
    ["http://:8000/ota/", /cannot look up/],
  ])("%s is misread", (url, why) => {
    expect(readBoardUrl(url)).toMatchObject({ kind: "misread", why: expect.stringMatching(why) });
  });

  test.each([
    ["192.168.1.20:1883", { secure: false, port: 1883 }],
    ["tendon.example:8883", { secure: true, port: 8883 }],
    ["tendon.example", { secure: true, port: 8883 }],
  ])("the MQTT endpoint %s", (endpoint, read) => {
    expect(readBoardEndpoint(endpoint)).toMatchObject({ kind: "read", ...read });
  });

  test.each(["[fd00::1]:1883", "tendon.example:x", "", "mqtt://h:1", "h:0"])(
    "the endpoint %j is misread",
    (endpoint) => {
      expect(readBoardEndpoint(endpoint).kind).toBe("misread");
    },
  );
});
