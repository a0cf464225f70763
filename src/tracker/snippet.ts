/*
 * Stubs: a line of script that a shop can put before the script's tag, for pages that call `track` before the script
 * has loaded. A stub records each call (the helper's name, its arguments, the URL, the time and a UUID of version 7)
 * and returns a promise, which resolves when the script has replayed the call.
 *
 * An element with the id `track` is not an own property of window, so a stub replaces it. A stub replaces no own
 * property: the script, another stub or a variable of the page.
 *
 * The last argument is the global name of the helpers: `track`, or the key's setting `global`.
 */
const record =
  'w.hasOwnProperty(n)&&w[n]||(w[n]=new Proxy({q},{get:(t,p)=>p=="then"?0:t[p]||((...a)=>new Promise(s=>{let m=+new Date;q.push([p,a,location.href,m,m.toString(16).padStart(12,0).replace(/.{8}/,"$&-")+"-7"+(q.length+4096).toString(16).slice(1)+"-8000-"+Math.random().toString(16).slice(2,14).padEnd(12,0),s])}))}))'

/** Stores the calls when the page is left, under names of the outbox. */
const keep =
  ';addEventListener("pagehide",()=>q.map(c=>{try{localStorage["track.e."+c[4]]=JSON.stringify(c)}catch(e){}}))'

/*
 * The same in ES5, for templates and for tools that accept nothing newer, such as tag managers. There is a space
 * after each brace, and no brace in a regular expression, because template languages would interpret them.
 */
const recordEs5 =
  ' w.hasOwnProperty(n)&&w[n]||(w[n]=new Proxy({ q:q },{ get:function(t,p){ return p=="then"?0:t[p]||function(){ var a=[].slice.call(arguments);return new Promise(function(s){ var m=+new Date;q.push([p,a,location.href,m,m.toString(16).padStart(12,0).replace(/......../,"$&-")+"-7"+(q.length+4096).toString(16).slice(1)+"-8000-"+Math.random().toString(16).slice(2,14).padEnd(12,0),s]) }) } } }))'
const keepEs5 =
  ';addEventListener("pagehide",function(){ q.map(function(c){ try{ localStorage["track.e."+c[4]]=JSON.stringify(c) }catch(e){ } }) })'

/** Calls are lost if the page is left before the script has loaded. */
export const STUB = `!function(w,q,n){${record}}(window,[],"track")`

/** Calls are stored if the page is left before the script has loaded. The next page delivers them. */
export const KEEPING_STUB = `!function(w,q,n){${record}${keep}}(window,[],"track")`

/** `STUB` for templates and old tools. */
export const STUB_ES5 = `!function(w,q,n){${recordEs5} }(window,[],"track")`

/** `KEEPING_STUB` for templates and old tools. */
export const KEEPING_STUB_ES5 = `!function(w,q,n){${recordEs5}${keepEs5} }(window,[],"track")`
