import type { ObjectSchema, ToolDefinition } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { UrlHosts } from "../../src/access/url-hosts.ts";

function verdict(hosts: readonly string[], url: string): "ok" | "forbidden" | "malformed" {
  const problems = new UrlHosts(hosts).problems({ url }, undefined);
  if (problems === undefined) return "ok";
  expect(problems).toHaveLength(1);
  expect(problems[0]?.path).toBe("/url");
  return problems[0]?.malformed === true ? "malformed" : "forbidden";
}

describe("[ACC-6] listed hosts", () => {
  it.each([
    ["files.example", "https://files.example/a.bin"],
    ["files.example", "http://files.example/a.bin?x=1#y"],
    ["files.example", "https://FILES.example/a"],
    ["FILES.example", "https://files.example"],
    ["files.example", "http://files.example:8080/a"],
    ["files.example", "http://files.example:80/a"],
    ["files.example:8080", "http://files.example:8080/a"],
    ["files.example:443", "https://files.example/a"],
    ["https://files.example", "https://files.example/a"],
    ["https://files.example:8443/", "https://files.example:8443/a"],
    ["*.example", "https://a.b.example/x"],
    ["*", "https://anything.at.all/x"],
    ["*", "http://93.184.216.34/x"],
    ["*", "http://[2606:2800:220:1:248:1893:25c8:1946]/x"],
    ["*:443", "https://anything.at.all/x"],
    ["192.168.1.10", "http://192.168.1.10/a"],
    ["127.0.0.1", "http://127.0.0.1:3000/a"],
    ["[::1]", "http://[::1]/a"],
    ["nas", "http://nas/a"],
    ["nas.local", "http://nas.local/a"],
    ["*.lan", "http://nas.lan/a"],
    ["files.example", "https://files.example/a@b:c/%2e%2e/x"],
  ])("%s allows %s", (host, url) => {
    expect(verdict([host], url)).toBe("ok");
  });

  it.each([
    ["files.example", "https://other.example/"],
    ["files.example", "https://files.example.evil.test/"],
    ["files.example", "https://xfiles.example/"],
    ["files.example", "https://a.files.example/"],
    ["files.example", "https://files.example./"],
    ["files.example:8080", "http://files.example/"],
    ["https://files.example", "http://files.example/"],
    ["*.example", "https://example/"],
    ["*.example", "https://evilexample/"],
    ["*.1", "http://10.0.0.1/"],
  ])("%s does not allow %s", (host, url) => {
    expect(verdict([host], url)).toBe("forbidden");
  });
});

describe("[ACC-5] without a list", () => {
  it.each(["https://files.example/", "http://192.168.1.1/", "http://127.0.0.1/"])("%s is rejected", (url) => {
    expect(verdict([], url)).toBe("forbidden");
  });
});

describe("[ACC-6] what `*` never matches", () => {
  it.each([
    "http://127.0.0.1/",
    "http://127.8.8.8/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/",
    "http://192.0.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://[::]/",
    "http://[::1]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[ff02::1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:db8::1]/",
    "http://localhost/",
    "http://a.localhost/",
    "http://router/",
    "http://nas.local/",
    "http://printer.lan/",
    "http://metadata.google.internal/",
    "http://box.home.arpa/",
  ])("%s", (url) => {
    expect(verdict(["*"], url)).toBe("forbidden");
  });
});

describe("[ACC-7] other spellings, other schemes", () => {
  const everything = ["*", "127.0.0.1", "files.example", "[::1]"];
  it.each([
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://１２７.0.0.1/",
    "http://files。example/",
    "http://bücher.example/",
    "http://files%2eexample/",
    "http://user@files.example/",
    "http://user:secret@files.example/",
    "http://files.example@evil.test/",
    "http://evil.test\\@files.example/",
    "http://files.example\\.evil.test/",
    "http:\\\\files.example/",
    "http:/files.example/",
    "http:files.example",
    "http:///files.example/",
    "http://files.example?@evil.test/",
    "http://files.example#@evil.test/",
    " http://files.example/",
    "http://files.example/ ",
    "http://files.example/a b",
    "http://files.ex\tample/",
    "http://files.example/\n",
    "http://files.example:080/",
    "ftp://files.example/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/plain,x",
    "gopher://files.example/",
    "ws://files.example/",
    "mqtt://files.example/",
    "files.example:8080/x",
    "HTTPS://files.example/",
    "Http://files.example/",
    "HTTP:/\\files.example/",
    "http:\t//files.example/",
    "ht\ntp://files.example/",
    "http://\u200bfiles.example/",
    "http://%66iles.example/",
    "http://files.example;x/",
    "http://files.example:@evil.test/",
    "http://[::ffff:7f00:1]:80@files.example/",
    "http://files.example\\/evil.test/",
    "blob:http://files.example/x",
    "view-source:http://files.example/",
  ])("%j is rejected, whatever is listed", (url) => {
    expect(verdict(everything, url)).toBe("forbidden");
  });

  it.each([
    "",
    "a",
    "/path",
    "//files.example/",
    "files.example/x",
    "http://",
    "http://[::1",
    "http://a b/",
    "http://files.example:99999/",
    "://files.example/",
    "http://files.example\u0000.evil.test/",
    "http://files.example\u00a0/",
    "http://files.example%00.evil.test/",
    "http://files.example:80;x/",
    "http//files.example/",
  ])("%j is not an address", (url) => {
    expect(verdict(everything, url)).toBe("malformed");
  });
});

describe("[ACC-5] which arguments are addresses", () => {
  const evil = "http://evil.test/";
  const places = (args: Record<string, unknown>, tool?: ToolDefinition) =>
    (new UrlHosts(["files.example"]).problems(args, tool) ?? []).map(({ path }) => path);

  it.each([
    ...["url", "URL", "Url", "uri", "href", "webhook", "urls", "download_url", "imageUrl", "imageURL"],
    ...["uRl", "urI", "wEbHook", "ImageuRL", "hREF", "IMAGEURL", "image_uRl_path", "uRLs"],
    ...["url2", "URLPath", "firmware-url", "downloadurl", "callback.uri", "webhook_url", "file_uris"],
  ])("%s by its name", (name) => {
    expect(places({ [name]: evil })).toEqual([`/${name}`]);
    expect(places({ [name]: "https://files.example/" })).toEqual([]);
  });

  it.each(["text", "question", "name", "security", "luring", "hour", "theme", "message"])(
    "%s is not one: a text may mention any address",
    (name) => {
      expect(places({ [name]: evil })).toEqual([]);
    },
  );

  it("at any depth, in lists, and all of them", () => {
    const args = {
      url: [evil, "https://files.example/", evil],
      a: { "b/c": [{ url: evil }, { text: evil }] },
      n: 1,
      on: true,
      none: null,
    };
    expect(places(args)).toEqual(["/url/0", "/url/2", "/a/b~1c/0/url"]);
  });

  it("at any depth, without an endless search", () => {
    let deep: unknown = { url: evil };
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(places({ deep })).toEqual([]);
  });

  it("by the schema's format, at any depth and in any case", () => {
    const inputSchema: ObjectSchema = {
      type: "object",
      properties: {
        picture: { type: "string", format: "uri" },
        list: { type: "array", items: { anyOf: [{ type: "string", format: "uri-reference" }] } },
        box: { type: "object", properties: { target: { type: "string", format: "url" } } },
        text: { type: "string", format: "date-time" },
      },
    };
    const tool = { name: "t", description: "", inputSchema, audience: "agent", repairs: [] } as const;
    const args = { Picture: evil, list: [evil], box: { target: evil }, text: evil };
    expect(places(args, tool)).toEqual(["/Picture", "/list/0", "/box/target"]);
    expect(places(args)).toEqual([]);
  });

  it.each(["imageurlpath", "iMaGeuRlPaTh", "imaGeUri_path", "wEbhOOks"])(
    "%s of an unlisted tool, if the text looks like one",
    (name) => {
      expect(places({ [name]: evil })).toEqual([`/${name}`]);
    },
  );
});
