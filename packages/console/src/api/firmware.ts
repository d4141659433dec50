/** Queries and changes of firmware images. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  FirmwareChange,
  FirmwareDetail,
  FirmwareImageView,
  FirmwareList,
  FirmwareUpload,
} from "@tendon/protocol";
import { api, inPath, query } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

/** No event announces an offer, so the list is polled. */
const lookEveryMs = 30_000;

export function useImages() {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.firmware,
    queryFn: ({ signal }) => api<FirmwareList>("/firmware", { signal }),
    enabled: may("admin"),
    staleTime: 10_000,
    refetchInterval: lookEveryMs,
  });
}

/** One image with the boards that failed to update, read when the user opens it. */
export function useImageFailures(id: string, wanted: boolean) {
  return useQuery({
    queryKey: keys.image(id),
    queryFn: ({ signal }) => api<FirmwareDetail>(`/firmware/${inPath(id)}`, { signal }),
    enabled: wanted,
    staleTime: 10_000,
  });
}

export interface HandedIn {
  readonly file: File;
  readonly about: FirmwareUpload;
}

export function useUploadImage(onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ file, about }: HandedIn) =>
      api<FirmwareDetail>(`/firmware${query({ ...about })}`, { method: "POST", file }),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: keys.firmware });
    },
  });
}

export function useImageChange(image: FirmwareImageView, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: FirmwareChange) =>
      api<FirmwareDetail>(`/firmware/${inPath(image.id)}`, { method: "PATCH", body: change }),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: keys.firmware });
    },
  });
}

export function useImageRemoval(image: FirmwareImageView, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api(`/firmware/${inPath(image.id)}`, { method: "DELETE" }),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: keys.firmware, exact: true });
    },
  });
}
