/** A UUID of any version as text (RFC 9562, 4). Device ids are version 4, event ids version 7. */
export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
